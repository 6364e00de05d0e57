// Numbers as the terminal writes them.

/** Tokens or counts with three significant digits: 999, 40k, 1.25M. */
function short(n) {
  if (n === null || !Number.isFinite(n)) return "–";
  const units = [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "B"], [1e12, "T"]];
  for (const [unit, name] of units) {
    const text = significant(Math.abs(n) / unit);
    // 999,999 rounds to 1000k: the next unit says 1M.
    if (Number(text) < 1000 || name === "T") return (n < 0 && text !== "0" ? "-" : "") + text + name;
  }
}

function significant(v) {
  const whole = v > 0 ? Math.floor(Math.log10(v)) + 1 : 1;
  const text = v.toFixed(Math.min(9, Math.max(0, 3 - whole)));
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/** USD with at least two decimals and at least three significant digits. */
function usd(n) {
  const a = Math.abs(n), sign = n < 0 ? "-" : "";
  const digits = a === 0 || a >= 1 ? 2 : a >= 0.1 ? 3 : a >= 0.01 ? 4 : 6;
  return a >= 99999.5 ? `${sign}$${short(a)}` : `${sign}$${a.toFixed(digits)}`;
}

/** A share as a percentage, one decimal below 10 %. */
function percent(share) {
  let p = share * 100;
  if (Math.abs(p) < 0.05) p = 0;
  return `${Math.abs(p) >= 9.95 || p === 0 ? p.toFixed(0) : p.toFixed(1)} %`;
}

/** The same with a sign in any case but nothing. */
function change(share) {
  const text = percent(share);
  return share > 0 && text !== "0 %" ? `+${text}` : text;
}

function thousands(n) {
  return n === null ? "–" : String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function oneDecimal(n) {
  return n === null ? "–" : n >= 1000 ? short(n) : n.toFixed(1);
}

function count(n, one, many = `${one}s`) {
  return `${thousands(n)} ${n === 1 ? one : many}`;
}

/** Lines of at most `width` characters, broken at spaces. */
function wrapped(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines.map((line) => (line.length > width * 1.5 ? `${line.slice(0, width)}…` : line));
}
