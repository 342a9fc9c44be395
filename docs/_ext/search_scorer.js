// Order of the search results. Sphinx knows which words a page has, but not how often, and sorts ties by
// title: the guide would sink among 200 pages of the reference.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const query = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
    const heading = title.toLowerCase();
    if (heading === query || docname === query) score += 12;
    else if (query.split(/\s+/).every((word) => heading.includes(word))) score += 6;
    if (docname.endsWith("/index")) return score - 10;
    // rejo.queue before rejo.RejectClassifier.queue
    if (docname.startsWith("api/")) return descr ? score - title.split(".").length : score;
    return score + (docname.startsWith("gallery/") ? 2 : 7);
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
