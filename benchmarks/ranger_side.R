# ranger's half of `benchmarks.bench_forest`, which Rscript runs where R and its package ranger are installed.
#
# Rscript ranger_side.R FOLDER COLUMNS TREES TRIED THREADS reads train.X, train.y, test.X and test.y of FOLDER (doubles,
# column after column; labels as doubles), fits a forest whose trees grow until a leaf is pure, and prints the seconds
# of the fit by the clock on the wall and of the processors, and the share of the test rows that are wrong.
suppressPackageStartupMessages(library(ranger))

given <- commandArgs(trailingOnly = TRUE)
settings <- as.integer(given[-1])
numbers <- function(name) {
  file <- file.path(given[1], name)
  readBin(file, "double", file.size(file) / 8)
}
table_of <- function(name) {
  X <- matrix(numbers(paste0(name, ".X")), ncol = settings[1])
  colnames(X) <- paste0("x", seq_len(ncol(X)))
  X
}
X <- table_of("train")
y <- factor(numbers("train.y"))
begun <- proc.time()
forest <- ranger(
  x = X, y = y, num.trees = settings[2], mtry = settings[3], num.threads = settings[4],
  probability = TRUE, min.node.size = 1, oob.error = FALSE, seed = 1, verbose = FALSE
)
taken <- proc.time() - begun
shares <- predict(forest, table_of("test"), num.threads = settings[4], verbose = FALSE)$predictions
said <- as.numeric(colnames(shares))[max.col(shares, ties.method = "first")]
cat(taken[["elapsed"]], taken[["user.self"]] + taken[["sys.self"]], mean(said != numbers("test.y")), "\n")
