import { useState } from "react";
import { Button } from "./Button.jsx";
import "./form.css";

export function OrderForm() {
  const [sent, setSent] = useState("");
  const submit = (event) => {
    event.preventDefault();
    setSent(new FormData(event.currentTarget).get("name"));
  };
  return (
    <form className="panel" onSubmit={submit}>
      <h2>Reserve a table</h2>
      <label>Name <input name="name" autoComplete="off" required /></label>
      <label>Seats <select name="seats" defaultValue="2"><option>1</option><option>2</option><option>4</option></select></label>
      <label className="check"><input type="checkbox" name="window" /> By the window</label>
      <Button kind="primary" type="submit">Reserve</Button>
      <p role="status">{sent && `See you soon, ${sent}.`}</p>
    </form>
  );
}
