//! `ferrovia_lane_create`: the messages of a connection go on through memory that both sides share.
//!
//! A client asks after `sockclnt_create`, with no request pending. The reply carries the descriptor
//! of a file (`SCM_RIGHTS`), which [`infra::memory::lane::Lane`] opens. From then on the bytes of
//! the socket, including headers, use the lane, and a byte on the socket, of any value, is a bell:
//! check the lane. The socket is still the lifeline; closing it ends the connection. A bell is not
//! an eventfd, because either side could fill it and clear `O_NONBLOCK`, and ringing it would then
//! block the router.

use super::registry::Api;
use crate::api::Message;

/// Lanes there may be at a time.
pub(super) const MOST: usize = 64;
/// Bytes each way at most.
pub(super) const MOST_BYTES: u32 = 16 << 20;

/// Continue over shared memory; no other request may be pending.
#[derive(Message)]
#[reply(FerroviaLaneCreateReply)]
pub struct FerroviaLaneCreate {
    /// bytes of room in each direction, up to 16777216
    #[preset(1048576)]
    pub size: u32,
}

/// Reply; carries the descriptor of the memory unless refused.
#[derive(Message)]
pub struct FerroviaLaneCreateReply {
    /// bytes of room in each direction
    pub size: u32,
}

pub(super) fn register<C: 'static>(api: &mut Api<C>) {
    api.core("ferrovia", "1.0.0").by_transport::<FerroviaLaneCreate>();
}
