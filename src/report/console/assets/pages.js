/**
 * Synchronizes the cursor of all charts, zooms charts by dragging, and filters lists while typing. Pages work without this
 * script: each chart has a table of its values, the picker sets the time range, and the filter is a form.
 */
const plots = [...document.querySelectorAll('svg[data-from]')];

/** Returns the times and value texts of a chart, oldest first; null for a chart without a table. */
const rows = new WeakMap();
function rowsOf(plot) {
  if (!rows.has(plot)) {
    const found = plot.closest('figure')?.querySelectorAll('tr[data-at]') ?? [];
    rows.set(
      plot,
      [...found].map((row) => ({ at: Number(row.dataset.at), cells: [...row.cells].map((cell) => cell.textContent) })),
    );
  }
  return rows.get(plot);
}

function timeAt(plot, { clientX }) {
  const { left, width } = plot.getBoundingClientRect();
  const [from, until] = [Number(plot.dataset.from), Number(plot.dataset.until)];
  return from + Math.min(1, Math.max(0, (clientX - left) / width)) * (until - from);
}

function placeOf(plot, at) {
  const [from, until] = [Number(plot.dataset.from), Number(plot.dataset.until)];
  return at < from || at > until ? null : `${(100 * (at - from)) / (until - from)}%`;
}

/** @param at null hides the cursor */
function showCursor(at) {
  for (const plot of plots) {
    const place = at === null ? null : placeOf(plot, at);
    const cursor = plot.querySelector('.cursor');
    cursor.classList.toggle('shown', place !== null);
    if (place !== null) for (const name of ['x1', 'x2']) cursor.setAttribute(name, place);
    const legend = plot.closest('figure')?.querySelector('.legend');
    if (!legend) continue;
    legend.classList.toggle('has-cursor', place !== null);
    legend.querySelector('.under-cursor').textContent = place === null ? '' : textAt(plot, at);
  }
}

function textAt(plot, at) {
  const known = rowsOf(plot);
  if (known.length === 0) return '';
  const closest = known.reduce((best, row) => (Math.abs(row.at - at) < Math.abs(best.at - at) ? row : best));
  const [time, ...values] = closest.cells;
  return `${time}: ${values.map((value) => (value === '' ? 'no data' : value)).join(', ')}`;
}

/** Minimum length of a drag, in pixels; a shorter drag counts as a click. */
const MIN_DRAG = 8;
const MINUTE = 60_000;

function minute(at) {
  return new Date(at).toISOString().slice(0, 16);
}

function showBetween(from, until) {
  const address = new URL(location.href);
  address.searchParams.delete('range');
  address.searchParams.set('from', minute(from));
  address.searchParams.set('until', minute(Math.max(until, from + 2 * MINUTE)));
  location.assign(address);
}

const hasRange = document.querySelector('nav.range') !== null;
for (const plot of plots) {
  let start = null;
  plot.addEventListener('pointermove', (event) => {
    showCursor(timeAt(plot, event));
    if (start === null) return;
    const { left, width } = plot.getBoundingClientRect();
    const share = (x) => Math.min(1, Math.max(0, (x - left) / width));
    const [low, high] = [share(start.clientX), share(event.clientX)].toSorted((a, b) => a - b);
    start.area.setAttribute('x', `${100 * low}%`);
    start.area.setAttribute('width', `${100 * (high - low)}%`);
  });
  plot.addEventListener('pointerleave', () => showCursor(null));
  if (!hasRange) continue;
  plot.classList.add('zoomable');
  plot.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' || event.button !== 0) return;
    const area = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    area.setAttribute('class', 'selected');
    area.setAttribute('height', '100%');
    plot.append(area);
    plot.setPointerCapture(event.pointerId);
    start = { clientX: event.clientX, at: timeAt(plot, event), area };
    event.preventDefault();
  });
  plot.addEventListener('pointerup', (event) => {
    if (start === null) return;
    const { at, clientX, area } = start;
    start = null;
    area.remove();
    if (Math.abs(event.clientX - clientX) < MIN_DRAG) return;
    const [from, until] = [at, timeAt(plot, event)].toSorted((a, b) => a - b);
    showBetween(from, until);
  });
}

for (const input of document.querySelectorAll('input[data-filters]')) {
  input.addEventListener('input', () => {
    const wanted = input.value.trim().toLowerCase();
    for (const item of document.querySelectorAll(input.dataset.filters))
      item.hidden = !item.textContent.toLowerCase().includes(wanted);
  });
}
