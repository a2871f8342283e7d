// How search results are ranked: what a job is done with comes before names of the reference and notes on the making.
var Scorer = {
  score: ([docname, , , , score]) => {
    const first = docname.split("/")[0];
    if (first === "tutorials") return score + 12;
    if (["guide", "command-line", "imbalance", "pruning", "reading-models", "gallery"].includes(first)) return score + 6;
    if (["api", "changes", "decisions", "architecture", "kernels", "extending", "routes", "index"].includes(first))
      return score - 4;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
