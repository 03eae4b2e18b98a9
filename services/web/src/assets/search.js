// Submits the form when the sort order or the view changes, and draws a box on the map.
const form = document.getElementById('search');
for (const select of form.querySelectorAll('select')) {
  select.addEventListener('change', () => form.requestSubmit());
}
// Empty fields do not belong in the address.
form.addEventListener('formdata', ({ formData }) => {
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
});

const map = document.getElementById('result-map');
if (map !== null) enableMap(map);

function enableMap(container) {
  const svg = container.querySelector('svg');
  const view = svg.viewBox.baseVal;
  const show = (x, y, width) => {
    const left = Math.max(-180, Math.min(180 - width, x));
    const top = Math.max(-90, Math.min(90 - width / 2, y));
    svg.setAttribute('viewBox', `${left} ${top} ${width} ${width / 2}`);
    for (const circle of svg.querySelectorAll('circle')) circle.setAttribute('r', String(width / 225));
  };
  const zoom = (factor, x = view.x + view.width / 2, y = view.y + view.height / 2) => {
    const width = Math.min(360, Math.max(4, view.width * factor));
    show(x - width / 2, y - width / 4, width);
  };
  const move = (x, y) => show(view.x + (x * view.width) / 4, view.y + (y * view.width) / 4, view.width);
  const actions = {
    west: () => move(-1, 0),
    north: () => move(0, -1),
    south: () => move(0, 1),
    east: () => move(1, 0),
    in: () => zoom(0.5),
    out: () => zoom(2),
    world: () => show(-180, -90, 360),
  };
  container.querySelector('.zoom').hidden = false;
  for (const button of container.querySelectorAll('[data-map]'))
    button.addEventListener('click', actions[button.dataset.map]);
  // A double click would select text beside the map.
  svg.addEventListener('mousedown', (event) => event.preventDefault());
  svg.addEventListener('dblclick', (event) => {
    const { x, y } = at(event);
    zoom(0.5, x, y);
  });

  let start;
  let box;
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { x: Math.max(-180, Math.min(180, point.x)), y: Math.max(-90, Math.min(90, point.y)) };
  };
  svg.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    start = at(event);
  });
  svg.addEventListener('pointermove', (event) => {
    if (start === undefined) return;
    const end = at(event);
    if (box === undefined) {
      if (Math.hypot(end.x - start.x, end.y - start.y) < view.width / 100) return;
      svg.querySelector('.box')?.remove();
      box = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      box.setAttribute('class', 'box');
      svg.append(box);
      svg.setPointerCapture(event.pointerId);
    }
    box.setAttribute('x', String(Math.min(start.x, end.x)));
    box.setAttribute('y', String(Math.min(start.y, end.y)));
    box.setAttribute('width', String(Math.abs(end.x - start.x)));
    box.setAttribute('height', String(Math.abs(end.y - start.y)));
  });
  const finish = (event) => {
    if (start !== undefined && box !== undefined && event.type === 'pointerup') {
      const end = at(event);
      const edges = {
        west: Math.min(start.x, end.x),
        east: Math.max(start.x, end.x),
        south: -Math.max(start.y, end.y),
        north: -Math.min(start.y, end.y),
      };
      for (const [name, value] of Object.entries(edges)) form.elements[name].value = value.toFixed(3);
      form.requestSubmit();
    }
    start = undefined;
    box = undefined;
  };
  svg.addEventListener('pointerup', finish);
  svg.addEventListener('pointercancel', finish);
  svg.addEventListener('dragstart', (event) => event.preventDefault());
}
