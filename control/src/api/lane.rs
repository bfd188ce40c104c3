//! `ferrovia_lane_create`: the messages of a connection go on through memory that both sides share.
//!
//! A client asks behind `sockclnt_create`, when it waits for nothing else. With the reply comes the
//! descriptor of a file (`SCM_RIGHTS`), which [`infra::memory::lane::Lane`] opens. From then on the
//! bytes that went through the socket, headers and all, go through the lane, and a byte on the
//! socket, whatever it is, is a bell: look into the lane. The socket is the life line as before;
//! who closes it is gone. A bell is no eventfd because whoever shares one can fill it up and take
//! `O_NONBLOCK` off, and then ringing it would stop the router.

use super::registry::Api;
use crate::api::Message;

/// Lanes there may be at a time.
pub(super) const MOST: usize = 64;
/// Bytes each way at most.
pub(super) const MOST_BYTES: u32 = 16 << 20;

/// Go on in shared memory. Nothing else may be under way.
#[derive(Message)]
#[reply(FerroviaLaneCreateReply)]
pub struct FerroviaLaneCreate {
    /// bytes that have room each way, up to 16777216
    #[preset(1048576)]
    pub size: u32,
}

/// With it comes the descriptor of the memory, unless it is refused.
#[derive(Message)]
pub struct FerroviaLaneCreateReply {
    /// bytes that have room each way
    pub size: u32,
}

pub(super) fn register<C: 'static>(api: &mut Api<C>) {
    api.core("ferrovia", "1.0.0").by_transport::<FerroviaLaneCreate>();
}
