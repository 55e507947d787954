const menu = document.querySelector(".menu");
document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) menu.remove(); });
menu.addEventListener("pointerdown", () => menu.remove());
const capturing = document.querySelector(".capturing");
capturing.addEventListener("pointerdown", (event) => capturing.setPointerCapture(event.pointerId));
document.querySelector(".pop").showPopover();
