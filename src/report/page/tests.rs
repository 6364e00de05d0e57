//! Structure, size, escaping, determinism.
