//! The progress bar: with rate and time left on a terminal, nothing when piped. And Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error over `total` of `what`.
pub fn bar(total: u64, what: &str) -> ProgressBar {
    // indicatif draws nothing where standard error is no terminal.
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    let template = format!("{{bar:24}} {{percent:>3}} %  {{human_pos}} of {{human_len}} {what}  {{per_sec}}  {{eta}} left");
    bar.set_style(ProgressStyle::with_template(&template).expect("the template is valid").progress_chars("━╸─"));
    bar
}

/// A flag that the first Ctrl-C sets; the second ends the program at once.
///
/// # Errors
/// The handler cannot be installed.
pub fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(flag)
}
