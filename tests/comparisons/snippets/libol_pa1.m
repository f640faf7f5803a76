% octave-cli libol_pa1.m FILE FOLDER-OF-LIBOL
file = argv(){1};
addpath(argv(){2}, [argv(){2} "/algorithms"]);
lines = strsplit(strtrim(fileread(file)), "\n");
Y = cellfun(@(line) sscanf(line, "%f", 1), lines)';
parse = @(line) sscanf(regexprep(line, '^\S+', ''), "%d:%f", [2 Inf]);
entries = cellfun(parse, lines, "UniformOutput", false);
sizes = cellfun(@columns, entries);
entries = [entries{:}];
X = sparse(repelem(1:numel(Y), sizes), entries(1, :), entries(2, :));
X(:, end + 1) = 1;
options = struct("method", "PA1", "C", 1, "task_type", "bc", "language", 0);
options.id_list = 1:numel(Y);
options.t_tick = numel(Y);
ol_train(Y, X, options);
