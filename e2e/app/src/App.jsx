import { useState } from "react";
import { DishCard } from "./DishCard.jsx";
import { OrderForm } from "./OrderForm.jsx";
import { StockTable } from "./StockTable.jsx";
import { Button } from "./Button.jsx";
import { dishes } from "./dishes.js";

export function App() {
  const [count, setCount] = useState(0);
  return (
    <>
      <header className="topbar">
        <h1>Corner Café</h1>
        <nav aria-label="Pages">
          <a href="/index.html" aria-current="page">Menu</a>
          <a href="/plain.html">Plain menu</a>
        </nav>
        <Button kind="primary" data-testid="new" onClick={() => setCount(count + 1)}>New order</Button>
        <output className="count" aria-label="Orders" data-testid="count">{count}</output>
      </header>
      <main>
        <section aria-labelledby="menu">
          <h2 id="menu">Today</h2>
          <div className="cards">
            {dishes.map((dish) => <DishCard key={dish.id} dish={dish} onOrder={() => setCount((n) => n + 1)} />)}
          </div>
        </section>
        <div className="columns">
          <OrderForm />
          <StockTable />
        </div>
      </main>
      <footer className="foot">Open from seven. Closed when the buns are gone.</footer>
    </>
  );
}
