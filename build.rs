//! Leaves the names that only a debugger reads out of the program, a fifth of its size. Examples and benches keep theirs: what is
//! measured is found by its name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-s");
    }
}
