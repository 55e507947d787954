const main = document.querySelector("main");
for (let row = 0; row < 200; row++) {
  const section = document.createElement("section");
  for (let i = 0; i < 25; i++) {
    const cell = document.createElement("div");
    cell.className = "cell";
    const word = document.createElement("b");
    word.textContent = `${row}/${i}`;
    cell.append(word);
    section.append(cell);
  }
  main.append(section);
}
