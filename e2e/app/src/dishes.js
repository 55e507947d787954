export const dishes = [
  { id: "espresso", name: "Espresso", about: "Short, dark, from beans roasted on Monday.", price: 2.4, stock: 80, tint: "#7c4a2d" },
  { id: "flat-white", name: "Flat white", about: "Two shots and milk like silk.", price: 3.8, stock: 64, tint: "#b98a5e" },
  { id: "bun", name: "Cinnamon bun", about: "Warm until it is gone, mostly by ten.", price: 3.2, stock: 12, tint: "#c9752f" },
  { id: "tart", name: "Lemon tart", about: "Sharp, with a lid of burnt sugar.", price: 4.5, stock: 9, tint: "#d4a514" },
];

export const money = (amount) => `€${amount.toFixed(2)}`;
