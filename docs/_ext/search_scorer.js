// Order of the search results. Sphinx knows which words a page has, but not how often, and sorts ties by
// title: the guide would sink among 200 pages of the reference.

// Where words of a question are explained, if the headings there have others.
const ABOUT = {
  start: ["install", "quickstart", "tutorial"],
  which: ["choose"],
  "operating-points": ["budget", "target", "max_error", "review_budget", "reject_cost"],
  promises: ["confidence", "guarantee", "limit"],
  prices: ["cost", "cost_of", "costs"],
  data: ["missing", "nan", "csv", "excel"],
  novelty: ["novelty", "outlier", "drift"],
};

var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const query = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
    const words = query.split(/\s+/);
    const heading = title.toLowerCase();
    if (heading === query) score += 12;
    else if (words.every((word) => heading.includes(word))) score += 6;
    if (words.some((word) => ABOUT[docname]?.includes(word))) score += 12;
    if (docname.startsWith("api/rejo.study") || docname.endsWith("/index")) return score - 10;
    // rejo.queue before rejo.RejectClassifier.queue
    if (docname.startsWith("api/")) return descr ? score - title.split(".").length : score;
    if (docname.startsWith("gallery/")) return score + 2;
    if (docname === "whats_new") return score - 5;
    return score + (docname in ABOUT ? 8 : 5);
  },

  // The values of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
