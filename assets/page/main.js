// Copying, tabs, and the start.

/** Copies; where the page may not reach the clipboard (some browsers, from a file), through a selection. */
async function copy(button) {
  const text = byId(button.dataset.copy).textContent;
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = element("textarea", { readonly: "", style: "position:fixed;top:0;left:0;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const word = done ? "Copied" : "Press Ctrl+C";
  if (!done) getSelection().selectAllChildren(byId(button.dataset.copy));
  button.textContent = word;
  byId("said").textContent = done ? "Config copied" : "The text is selected; copy it with the keyboard";
  clearTimeout(button.timer);
  button.timer = setTimeout(() => { button.textContent = "Copy"; byId("said").textContent = ""; }, 2000);
}

function startTabs() {
  for (const list of document.querySelectorAll('[role="tablist"]')) {
    const tabs = [...list.querySelectorAll('[role="tab"]')];
    const open = (tab) => {
      for (const other of tabs) {
        const chosen = other === tab;
        other.setAttribute("aria-selected", String(chosen));
        other.tabIndex = chosen ? 0 : -1;
        byId(other.getAttribute("aria-controls")).hidden = !chosen;
      }
    };
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => open(tab));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: (i + 1) % tabs.length, ArrowLeft: (i + tabs.length - 1) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        open(tabs[to]);
        tabs[to].focus();
        event.preventDefault();
      });
    });
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button.copy");
  if (button) copy(button);
});
startTabs();
startTradeoff();
startHeat();
startContext();
startKeep();
redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// For those who test this page.
window.cleartune = { charts: CHARTS, data: DATA, format: { short, usd, percent, change, thousands } };
