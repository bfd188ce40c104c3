//! Messages of the module `crypto`.
#![forbid(unsafe_code)]

use net::prelude::*;

use super::Dispatch;

control::numbers! {
    /// Dispatch mode of asynchronous operations.
    pub enum CryptoDispatchMode: u8 = "crypto_dispatch_mode" in "" {
        POLLING = 0 => "CRYPTO_ASYNC_DISPATCH_POLLING",
        INTERRUPT = 1 => "CRYPTO_ASYNC_DISPATCH_INTERRUPT",
    }
    /// Types of operations.
    pub enum CryptoOpClassType: u8 = "crypto_op_class_type" in "" {
        SIMPLE = 0 => "CRYPTO_API_OP_SIMPLE",
        CHAINED = 1 => "CRYPTO_API_OP_CHAINED",
        BOTH = 2 => "CRYPTO_API_OP_BOTH",
    }
}

/// Set the dispatch mode of asynchronous operations.
#[derive(Message)]
#[option("deprecated")]
#[option("replaced_by", "crypto_set_async_dispatch_v2")]
#[reply(CryptoSetAsyncDispatchReply)]
pub struct CryptoSetAsyncDispatch {
    /// mode
    pub mode: CryptoDispatchMode,
}

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
#[option("replaced_by", "crypto_set_async_dispatch_v2")]
pub struct CryptoSetAsyncDispatchReply {}

/// Set the dispatch mode of asynchronous operations.
#[derive(Message)]
#[reply(CryptoSetAsyncDispatchV2Reply)]
pub struct CryptoSetAsyncDispatchV2 {
    /// mode
    pub mode: CryptoDispatchMode,
    /// true to adapt to the load
    pub adaptive: bool,
}

/// Reply: success.
#[derive(Message)]
pub struct CryptoSetAsyncDispatchV2Reply {}

/// Set the engine of an algorithm.
#[derive(Message)]
#[reply(CryptoSetEngineReply)]
#[name("crypto_set_handler")]
pub struct CryptoSetEngine {
    /// algorithm
    pub alg_name: Text<32>,
    /// engine
    pub engine: Text<16>,
    /// single-buffer or chained operations
    pub oct: CryptoOpClassType,
    /// asynchronous operations
    pub is_async: u8,
}

/// Reply: success.
#[derive(Message)]
#[name("crypto_set_handler_reply")]
pub struct CryptoSetEngineReply {}

fn set_dispatch(router: &mut Router, mode: CryptoDispatchMode) -> Result<(), Retval> {
    let is_interrupt = match mode {
        CryptoDispatchMode::POLLING => false,
        CryptoDispatchMode::INTERRUPT => true,
        _ => return Err(Retval::INVALID_VALUE),
    };
    router.own_mut::<Dispatch>().is_interrupt = is_interrupt;
    Ok(())
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("crypto", "1.0.1")
        .call(|router: &mut Router, m: CryptoSetAsyncDispatch| {
            set_dispatch(router, m.mode).map(|()| CryptoSetAsyncDispatchReply {})
        })
        .call(|router, m: CryptoSetAsyncDispatchV2| {
            set_dispatch(router, m.mode).map(|()| CryptoSetAsyncDispatchV2Reply {})
        })
        .call(|_, m: CryptoSetEngine| {
            super::choose(&m.alg_name, &m.engine)?;
            Ok(CryptoSetEngineReply {})
        });
}
