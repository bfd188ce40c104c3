//! API messages for applications outside the daemon, and for certificates.
//!
//! Clients that attach by message use a library with another layout of shared memory than this
//! router's, and are refused.

use control::Secret;
use control::api::{Api, Message, Retval};
use net::Router;
use zeroize::Zeroizing;

use super::super::{Error, certificates, check_enabled};

/// Attach an application.
#[derive(Message)]
#[reply(AppAttachReply)]
pub struct AppAttach {
    /// options
    pub options: [u64; 18],
    /// namespace ID
    pub namespace_id: String,
}

/// Reply: the attached application.
#[derive(Message)]
pub struct AppAttachReply {
    /// its event queue
    pub app_mq: u64,
    /// the router's event queue
    pub vpp_ctrl_mq: u64,
    /// thread of the router's event queue
    pub vpp_ctrl_mq_thread: u8,
    /// application index
    pub app_index: u32,
    /// number of descriptors
    pub n_fds: u8,
    /// types of descriptors
    pub fd_flags: u8,
    /// size of the segment in bytes
    pub segment_size: u32,
    /// segment
    pub segment_handle: u64,
    /// name of the segment
    pub segment_name: String,
}

/// Detach the client's application.
#[derive(Message)]
pub struct ApplicationDetach {}

/// Add a worker to an application, or delete one.
#[derive(Message)]
#[reply(AppWorkerAddDelReply)]
pub struct AppWorkerAddDel {
    /// application index
    pub app_index: u32,
    /// worker index
    pub wrk_index: u32,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
}

/// Reply: the worker.
#[derive(Message)]
pub struct AppWorkerAddDelReply {
    /// worker index
    pub wrk_index: u32,
    /// its event queue
    pub app_event_queue_address: u64,
    /// number of descriptors
    pub n_fds: u8,
    /// types of descriptors
    pub fd_flags: u8,
    /// segment
    pub segment_handle: u64,
    /// true if it was added
    #[preset(true)]
    pub is_add: bool,
    /// name of the segment
    pub segment_name: String,
}

/// Add a certificate with its key.
#[derive(Message)]
#[reply(AppAddCertKeyPairReply)]
pub struct AppAddCertKeyPair {
    /// length of the certificate in bytes
    pub cert_len: u16,
    /// certificate followed by key, both in PEM
    #[counted(certkey_len: u16)]
    pub certkey: Vec<Secret<u8>>,
}

/// Reply: the index of the certificate.
#[derive(Message)]
pub struct AppAddCertKeyPairReply {
    /// index
    pub index: u32,
}

/// Delete a certificate and its key.
#[derive(Message)]
pub struct AppDelCertKeyPair {
    /// index
    pub index: u32,
}

fn attach(router: &Router) -> Result<AppAttachReply, Error> {
    check_enabled(router)?;
    Err(Error::ForeignClient)
}

fn add_certificate(router: &mut Router, m: &AppAddCertKeyPair) -> Result<u32, Retval> {
    check_enabled(router)?;
    let text: Zeroizing<Vec<u8>> = Zeroizing::new(m.certkey.iter().map(|byte| **byte).collect());
    let parts = text.split_at_checked(m.cert_len.into());
    let short = Error::BadCertificate("the certificate is longer than the text");
    let (chain, key) = parts.ok_or(short)?;
    Ok(certificates::add(router, chain, key)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("session", super::VERSION)
        .call(|router: &mut Router, _: AppAttach| Ok(attach(router)?))
        .call(|router: &mut Router, _: ApplicationDetach| {
            check_enabled(router)?;
            Err::<(), Retval>(Error::NoApplication.into())
        })
        .call(|router: &mut Router, _: AppWorkerAddDel| {
            check_enabled(router)?;
            Err::<AppWorkerAddDelReply, Retval>(Error::NoApplication.into())
        })
        .call(|router: &mut Router, m: AppAddCertKeyPair| {
            Ok(AppAddCertKeyPairReply { index: add_certificate(router, &m)? })
        })
        .call(|router: &mut Router, m: AppDelCertKeyPair| {
            Ok(certificates::remove(router, m.index)?)
        });
}
