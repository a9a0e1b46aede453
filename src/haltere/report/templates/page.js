(() => {
  "use strict";
  const settings = { displaylogo: false, displayModeBar: false, scrollZoom: false };
  const plots = [...document.querySelectorAll("script[data-for]")].map((script) => {
    const place = document.getElementById(script.dataset.for);
    const { data, layout } = JSON.parse(script.textContent);
    // Scenes are fitted to their height by plotly: where there is little width, they become lower and step back.
    const { aspect } = layout.meta || {};
    const eye = aspect && layout.scene.camera.eye;
    const size = (width) => {
      if (!aspect) return { width };
      const height = Math.min(layout.height, Math.max(230, width / aspect));
      const back = Math.max(1, (aspect * height) / width);
      place.style.height = `${height}px`;
      return { width, height, "scene.camera.eye": { x: eye.x * back, y: eye.y * back, z: eye.z * back } };
    };
    const draw = (width) => Plotly.newPlot(place, data, { ...layout, width, autosize: false }, settings);
    // Streams move to a new width slowly, so they are drawn anew; everything else is only set to it.
    const slow = data.some((trace) => trace.type === "sankey");
    const fit = (width) => (slow ? draw(width) : Plotly.relayout(place, size(width)));
    return { place, fit, ready: draw(place.clientWidth).then(() => aspect && fit(place.clientWidth)) };
  });
  const byPlace = new Map(plots.map((plot) => [plot.place, plot]));
  let printing = false;
  const watch = new ResizeObserver((entries) => {
    if (printing) return;
    for (const { target } of entries) {
      if (target.clientWidth && target.clientWidth !== target.layout.width) byPlace.get(target).fit(target.clientWidth);
    }
  });
  // Paper has its own width: figures are set to it before printing and back to the screen's afterwards.
  addEventListener("beforeprint", () => {
    printing = true;
    for (const { place, fit } of plots) fit(place.closest("figure").classList.contains("wide") ? 680 : 328);
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const { place, fit } of plots) fit(place.clientWidth);
  });
  Promise.all(plots.map((plot) => plot.ready)).then(() => {
    for (const { place } of plots) watch.observe(place);
    document.documentElement.dataset.ready = "yes";
  });
})();
