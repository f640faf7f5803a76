"""What ``--help`` shows besides options: two examples per command, and the groups of options."""

EXAMPLES = {
    "olscale ingest": (
        "olscale ingest orders.csv data/orders --label returned",
        "olscale ingest a9a data/a9a --test a9a.t --format svmlight",
    ),
    "olscale datasets list": ("olscale datasets list", "olscale datasets list data"),
    "olscale datasets show": (
        "olscale datasets show data/orders",
        "olscale datasets show data/orders --columns",
    ),
    "olscale datasets verify": (
        "olscale datasets verify data/orders",
        "olscale datasets verify s3://bucket/data/orders",
    ),
    "olscale datasets export": (
        "olscale datasets export data/orders orders.svm",
        "olscale datasets export data/orders test.csv --split test",
    ),
    "olscale datasets fetch": (
        "olscale datasets fetch usps data/usps",
        "olscale datasets fetch letter data/letter",
    ),
    "olscale datasets generate": (
        "olscale datasets generate rotating-xor data/xor",
        "olscale datasets generate rotating-xor data/long --rows 1000000 --seed 1",
    ),
    "olscale learners list": (
        "olscale learners list",
        "olscale learners list --task regression",
    ),
    "olscale learners show": (
        "olscale learners show pa1",
        "olscale learners show mine:Learner",
    ),
    "olscale learners check": (
        "olscale learners check mine:Learner",
        "olscale learners check sklearn.linear_model:Perceptron",
    ),
    "olscale evaluate": (
        "olscale evaluate letter.toml --store results --set protocol.permutations=20 --dry-run",
        "olscale evaluate --dataset data/letter --learner pa1:C=0.5 --learner lol --store results",
    ),
    "olscale reproduce": (
        "olscale reproduce lol-2016 --store lol --quick",
        "olscale reproduce lol-2016 --store lol --no-run --out lol.md",
    ),
    "olscale status": ("olscale status results", "olscale status results --watch"),
    "olscale results": (
        "olscale results results --metrics cumulative_error,auc,rows_per_second",
        "olscale results results --experiment letter --format latex",
    ),
    "olscale compare": (
        "olscale compare results",
        "olscale compare results --metric auc --baseline pa1",
    ),
    "olscale report": (
        "olscale report results --out page",
        "olscale report results --out page --learner pa1 --learner lol",
    ),
    "olscale dashboard": (
        "olscale dashboard results",
        "olscale dashboard results nights --port 8080",
    ),
    "olscale compact": (
        "olscale compact results",
        "olscale compact s3://bucket/results",
    ),
    "olscale models list": (
        "olscale models list results",
        "olscale models list results --learner pa1",
    ),
    "olscale models save": (
        "olscale models save results 1f3a pa1.model",
        "olscale models save results 1f3a pa1.model --dataset data/letter",
    ),
    "olscale models learn": (
        "olscale models learn pa1.model monday.csv --out newer.model",
        "olscale models learn pa1.model data/letter --split test --out newer.model --grow classes",
    ),
    "olscale models show": (
        "olscale models show pa1.model",
        "olscale models show pa1.model --json",
    ),
    "olscale models export": (
        "olscale models export pa1.model --out pa1.onnx",
        "olscale models export mine.model --out mine.onnx --learner mine:Learner",
    ),
    "olscale predict": (
        "olscale predict pa1.model new.csv",
        "olscale predict pa1.model data/letter --split test",
    ),
    "olscale store diff": (
        "olscale store diff monday tuesday",
        "olscale store diff monday tuesday --exit-code",
    ),
    "olscale store merge": (
        "olscale store merge results other-machine",
        "olscale store merge results s3://bucket/results",
    ),
    "olscale store forget": (
        "olscale store forget results --learner mine:Learner",
        "olscale store forget results --learner PA-II --dataset letter",
    ),
    "olscale jobs run": (
        "olscale jobs run watch.toml",
        "olscale jobs run watch.toml --night 2026-01-02",
    ),
    "olscale jobs history": (
        "olscale jobs history watch.toml",
        "olscale jobs history watch.toml --metric error --format csv",
    ),
    "olscale jobs check": (
        "olscale jobs check watch.toml",
        "olscale jobs check watch.toml --home nights",
    ),
    "olscale jobs status": (
        "olscale jobs status watch.toml",
        "olscale jobs status watch.toml --tell",
    ),
    "olscale jobs report": (
        "olscale jobs report watch.toml --out page",
        "olscale jobs report watch.toml --home nights --out page",
    ),
    "olscale jobs units": (
        "olscale jobs units watch.toml --for systemd",
        "olscale jobs units watch.toml --for kubernetes",
    ),
    "olscale jobs prune": (
        "olscale jobs prune watch.toml --dry-run",
        "olscale jobs prune watch.toml",
    ),
    "olscale bench": (
        "olscale bench linear",
        "olscale bench linear kernel --out figures.json",
    ),
    "olscale warm": ("olscale warm", "olscale warm pa1 lol"),
    "olscale cluster template": (
        "olscale cluster template slurm --out scripts",
        "olscale cluster template kubernetes --out manifests",
    ),
    "olscale completion": ("olscale completion bash", "olscale completion zsh"),
    "olscale doctor": ("olscale doctor", "OLSCALE_SCRATCH=/scratch olscale doctor"),
}
"""Command -> two ways to call it."""

GROUPS = {
    "olscale evaluate": {
        "Experiment": ("--store", "--name", "--set", "--dry-run"),
        "Data and learners": ("--dataset", "--transform", "--learner"),
        "Protocol": (
            "--order",
            "--permutations",
            "--projections",
            "--seed",
            "--split",
            "--folds",
            "--test-only",
            "--strict-online",
        ),
        "Along the stream": (
            "--measures",
            "--positive",
            "--threshold",
            "--window",
            "--fading",
            "--holdout-every",
            "--holdout-rows",
            "--drift",
            "--delay",
            "--batch",
            "--burn-in",
            "--weights",
            "--weighted-measures",
            "--mcnemar",
        ),
        "Models": ("--keep-model", "--from-model", "--allow-pickle"),
        "Where it runs": (
            "--workers",
            "--scheduler",
            "--tls",
            "--dashboard",
            "--in-process",
            "--class-shards",
            "--wait-workers",
        ),
        "Budget": (
            "--max-seconds",
            "--max-memory",
            "--memory-limit",
            "--stop-after",
            "--stop-at",
            "--stop-seconds",
        ),
        "Again, and at the end": ("--retry", "--force", "--strict"),
    }
}
"""Command -> heading -> options; what stands in no group comes last."""
