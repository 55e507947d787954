export function Button({ kind, ...props }) {
  return <button type="button" className={kind ? `btn btn-${kind}` : "btn"} {...props} />;
}
