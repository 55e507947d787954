const dishes = [
  { name: 'Espresso', about: 'Short, dark, from Jinotega', price: 2.2, art: ['#4a2c1a', '#8a5a3b'] },
  { name: 'Flat white', about: 'Milk like silk', price: 3.6, art: ['#a97c50', '#e3c9a4'] },
  { name: 'Cold brew', about: 'Eighteen hours in the dark', price: 3.9, art: ['#1f2a44', '#5b6b95'] },
  { name: 'Cinnamon bun', about: 'Warm until it is gone', price: 3.2, art: ['#b45f2a', '#f0b36b'] },
  { name: 'Lemon tart', about: 'Sharp, with a soft middle', price: 4.1, art: ['#c9a21b', '#f9e38a'] },
  { name: 'Mint tea', about: 'A whole bunch in the pot', price: 2.8, art: ['#2d6a4f', '#95d5b2'] },
];

const price = (euro) => `€${euro.toFixed(2)}`;
const find = (selector) => document.querySelector(selector);

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
}

function card(dish) {
  const art = element('div', 'art');
  art.style.background = `radial-gradient(circle at 70% 30%, ${dish.art[1]}, ${dish.art[0]})`;
  const add = element('button', 'btn', 'Add');
  add.type = 'button';
  add.setAttribute('aria-label', `Add ${dish.name}`);
  add.addEventListener('click', () => order(dish));
  const foot = element('div', 'card-foot', element('span', 'price', price(dish.price)), add);
  return element('li', 'card', art, element('h3', '', dish.name), element('p', '', dish.about), foot);
}

let ordered = [];

function order(dish) {
  ordered.push(dish);
  find('.lines').append(element('li', '', element('span', '', dish.name), element('span', 'price', price(dish.price))));
  show();
}

function show() {
  find('.empty').hidden = ordered.length > 0;
  find('.total').hidden = ordered.length === 0;
  find('.total output').textContent = price(ordered.reduce((sum, dish) => sum + dish.price, 0));
}

find('.cards').append(...dishes.map(card));
find('[data-testid="new"]').addEventListener('click', () => {
  ordered = [];
  find('.lines').replaceChildren();
  show();
});
