// The types of picker/: classic scripts, which register on one namespace of
// the isolated world, and on another of the page's own world for as long as a
// question to the page's framework takes.

interface SwBox {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** From the document of the picker's window to an element: the place among the children, into a shadow root, into a frame. */
type SwPath = (number | "shadow" | "frame")[];

/** How a frame's content lies in a window: its corner, and how large its pixels are there. */
interface SwPlace {
  x: number;
  y: number;
  sx: number;
  sy: number;
}

/** A frame that no script can look into, in the window of the tab: where it is, what is seen of it, and which one it is. */
interface SwAround {
  place: SwPlace;
  seen: SwBox;
  chain: string;
}

/** A capture, as the shim's request body has it. */
type SwCapture = import("./lib/messages.js").Capture;

interface SwTree {
  read<N extends object>(node: N): N;
  shadowOf(el: Element): ShadowRoot | null;
  parentOf(el: Element): Element | null;
  childrenOf(el: Element): Element[];
  encloses(outer: Element, inner: Element): boolean;
  rectOf(el: Element): SwBox;
  boxOf(el: Element, root: Window): SwBox;
  visibleBox(el: Element, root: Window): SwBox;
  frameIn(frame: Element, root: Window): { place: SwPlace; seen: SwBox };
  moved(box: SwBox, place: SwPlace): SwBox;
  common(a: SwBox, b: SwBox): SwBox;
  pointIn(win: Window, root: Window, x: number, y: number): { x: number; y: number };
  rootWindow(): Window;
  isOurs(node: unknown): boolean;
  pathOf(el: Element, root: Window): SwPath;
  elementAt(path: SwPath, doc: Document): Element | null;
}

interface SwAria {
  roleOf(el: Element): string;
  nameOf(el: Element): string;
}

interface SwCaptures {
  capture(el: Element, at: { x: number; y: number } | null, root: Window, around?: SwAround | null): SwCapture;
  seen(el: Element, root: Window, around: SwAround | null): SwBox;
  around(frame: Element, root: Window, around: SwAround | null): SwAround;
  domPath(el: Element): string;
  fullSelector(el: Element): string;
  resolve(path: string, doc: Document): Element | null;
  textOf(el: Element): { text: string; hidden: boolean };
}

interface SwHits {
  hit(event: { target: Element; x: number; y: number }, through: boolean): Element | null;
  stack(doc: Document, x: number, y: number): Element[];
}

interface SwOverlay {
  show(box: SwBox, words: { tag: string; rest: string; size: string; component: string } | null): void;
  clear(): void;
  tick(box: SwBox): void;
  /** What is there takes the gestures, for frames whose page has no picker. */
  shield(boxes: SwBox[]): void;
  hide(hidden: boolean): void;
  raise(): void;
  remove(): void;
  readonly host: HTMLElement;
}

interface SwPicker {
  handle(event: Event, win: Window): void;
  armed: boolean;
  disarm(): void;
  leave(): void;
  stop(): void;
}

/** Of the isolated world. */
interface SlideWrite {
  tree: SwTree;
  aria: SwAria;
  captures: SwCaptures;
  hits: SwHits;
  makeOverlay: (doc: Document) => SwOverlay;
  copyText: (text: string) => Promise<void>;
  /** Of the debugger's picker: shows the tick. */
  ticked?: SwOverlay;
  picker?: SwPicker;
  /** Listens for gestures, if it does not: those of the first injection, which were there before the page's. */
  listen: () => void;
  /** Ends the picker of this frame. */
  release?: () => void;
}

declare var slidewrite: SlideWrite;

interface Window {
  slidewrite?: SlideWrite;
}

/** A place in code that a stack trace names; the worker finds the place in the source. */
interface SwFrame {
  url: string;
  line: number;
  column: number;
}

interface SwHint {
  framework?: string;
  name?: string;
  file?: string;
  line?: number;
  stack?: string[];
  /** Where it was made, the nearest place first, each with the component that it is in. */
  places?: { name: string; at: SwFrame }[];
  /** The key of the list's item that it is in, and which item that is, from 1. */
  key?: string;
  index?: number;
}

interface SwBackend {
  name: string;
  detect(el: Element): boolean;
  locate(el: Element): SwHint | null;
}

/** Of the page's world. */
interface SwBackends {
  all: SwBackend[];
  at(path: SwPath): Element | null;
  read<N extends object, K extends keyof N>(node: N, name: K): N[K];
  parentOf(el: Element): Element | null;
}

declare var slidewriteBackends: SwBackends | undefined;
