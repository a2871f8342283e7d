# The authors' half of `benchmarks.bench_sbpmt`, which Rscript runs where R has their package SBPMT; see README.md.
#
# Rscript sbpmt_authors.R TABLE.csv FOLD fits on the rows of all other folds and answers for those of FOLD, by the
# settings of the paper, and prints the seconds of both by the clock on the wall and of the processors, and the share of
# the answers that are wrong. TABLE.csv has columns of numbers, `target` (classes from 0) and `fold`.
suppressPackageStartupMessages(library(SBPMT))

given <- commandArgs(trailingOnly = TRUE)
table <- read.csv(given[1])
held <- table$fold == as.integer(given[2])
labels <- table$target
columns <- table[, setdiff(names(table), c("target", "fold"))]
# of two classes it takes numbers, of more their names; both by the names of the rows
y <- if (max(labels) == 1) labels[!held] else as.character(labels[!held])
names(y) <- row.names(columns)[!held]
set.seed(as.integer(given[2]))
begun <- proc.time()
invisible(capture.output(
  said <- SBPMT(
    n_tree = 21, n_iteration = 5, M = 100, depth = 6, size = 20, alpha = 0.7, step = 0.5,
    xtrain = columns[!held, ], ytrain = y, xtest = columns[held, ]
  )
))
taken <- proc.time() - begun
cat(taken[["elapsed"]], sum(taken[c("user.self", "sys.self")]), mean(as.character(said) != as.character(labels[held])), "\n")
