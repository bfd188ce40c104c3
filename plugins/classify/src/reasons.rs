//! Reasons why the nodes of layer 2 drop frames.
#![forbid(unsafe_code)]

/// Drops of `l2-input-acl`.
#[derive(Clone, Copy, graph::Reason)]
pub enum InputError {
    /// valid input ACL packets.
    #[name("valid input ACL packets")]
    #[severity("info")]
    Valid,
    /// input ACL table-miss drops.
    #[name("input ACL table-miss drops")]
    TableMiss,
    /// input ACL session deny drops.
    #[name("input ACL session deny drops")]
    SessionDeny,
}

/// Drops of `l2-output-acl`.
#[derive(Clone, Copy, graph::Reason)]
pub enum OutputError {
    /// valid output ACL packets.
    #[name("valid output ACL packets")]
    #[severity("info")]
    Valid,
    /// output ACL table-miss drops.
    #[name("output ACL table-miss drops")]
    TableMiss,
    /// output ACL session deny drops.
    #[name("output ACL session deny drops")]
    SessionDeny,
}

/// Drops of `l2-input-classify` and `l2-output-classify`.
#[derive(Clone, Copy, graph::Reason)]
pub enum FrameError {
    /// L2 Classify Drops.
    #[name("L2 Classify Drops")]
    Drop,
}
