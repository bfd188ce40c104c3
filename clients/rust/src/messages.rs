//! All messages and their types, written when this crate is built.
//!
//! Numbers with names are values: any number may come. A field that counts others is not here, the
//! `Vec`'s length is sent.
#![allow(
    clippy::unnecessary_cast,
    clippy::redundant_closure,
    clippy::derivable_impls,
    clippy::disallowed_names,
    clippy::doc_markdown,
    reason = "written by a program"
)]

use crate::codec::{Codec, Short, padded, put_all, put_text, take_all, take_text};
use crate::{Call, Dump, Message, Stream};

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
