//! Sizes above which a message is refused before anything is made of it.

/// Most controls on one message. Real clients send a handful.
pub const CONTROLS_MAX: usize = 64;

/// Deepest nesting accepted. Real clients use at most a handful; 64 leaves room and bounds every stack that walks a
/// filter.
pub const FILTER_DEPTH_MAX: usize = 64;

/// Most nodes accepted: this bounds the memory that a request takes once it is decoded. Servers may allow a client
/// fewer.
pub const FILTER_NODES_MAX: usize = 20_000;
