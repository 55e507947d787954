// Sees every gesture that reaches the page, as the page's first listener.
{
  const types = [
    "pointerdown", "pointerup", "pointermove", "pointerover", "pointerout", "pointerenter", "pointerleave", "pointercancel",
    "mousedown", "mouseup", "mousemove", "mouseover", "mouseout", "mouseenter", "mouseleave", "click", "dblclick", "auxclick", "contextmenu",
    "keydown", "keyup", "keypress", "touchstart", "touchmove", "touchend", "touchcancel", "dragstart",
    "focusin", "focusout", "input", "change", "submit", "toggle", "beforetoggle", "copy", "selectstart",
  ];
  window.saw = [];
  for (const type of types) {
    addEventListener(type, (event) => saw.push(`${type} ${event.target?.localName ?? "window"}`), true);
    document.addEventListener(type, (event) => saw.push(`${type} ${event.target?.localName ?? "document"}, document`), true);
  }
}
