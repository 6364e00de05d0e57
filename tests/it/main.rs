//! One test binary; a module a subject.
