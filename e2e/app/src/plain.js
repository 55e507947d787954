const count = document.querySelector('[data-testid="count"]');
document.querySelector('[data-testid="new"]').addEventListener("click", () => {
  count.textContent = String(Number(count.textContent) + 1);
});
