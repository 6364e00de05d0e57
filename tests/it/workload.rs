//! The generator: determinism, golden bytes, errors, the shape of what comes out.

mod calibration;
mod measure;
