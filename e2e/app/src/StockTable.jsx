import { dishes, money } from "./dishes.js";
import "./table.css";

export function StockTable() {
  return (
    <section className="panel" aria-labelledby="stock">
      <h2 id="stock">What is left</h2>
      <table>
        <thead><tr><th scope="col">Dish</th><th scope="col">Price</th><th scope="col">Left</th></tr></thead>
        <tbody>
          {dishes.map((dish) => (
            <tr key={dish.id}><th scope="row">{dish.name}</th><td>{money(dish.price)}</td><td>{dish.stock}</td></tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
