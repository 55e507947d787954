import { Button } from "./Button.jsx";
import { money } from "./dishes.js";
import "./cards.css";

export function DishCard({ dish, onOrder }) {
  return (
    <article className="card" data-testid={dish.id}>
      <div className="card-art" style={{ background: dish.tint }} />
      <h3>{dish.name}</h3>
      <p>{dish.about}</p>
      <div className="card-foot">
        <strong>{money(dish.price)}</strong>
        <Button aria-label={`Order ${dish.name}`} onClick={onOrder}>Order</Button>
      </div>
    </article>
  );
}
