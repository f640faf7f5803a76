// What scrolls sideways can be scrolled by the keyboard, too.
addEventListener("load", () => {
  const wide = ".md-typeset pre > code, .md-typeset__scrollwrap";
  document.querySelectorAll(wide).forEach((region) => {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  });
});
