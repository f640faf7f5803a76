sed -E 's/^(\S+) /\1 | /' "$1" >rows.vw
python -m vowpalwabbit --data rows.vw --loss_function logistic --sgd --learning_rate 0.1 \
    --power_t 0 --initial_t 0 --binary
