//! Messages of IPFIX (RFC 7011 section 3).

/// Bytes of a message before its sets.
pub const HEADER: usize = 16;
/// Bytes of a set before its records.
pub const SET: usize = 4;
/// The set of templates.
const TEMPLATES: u16 = 2;
/// The bit of a field that is an enterprise's.
const IS_ENTERPRISE: u16 = 0x8000;

/// An information element of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Index.
    pub id: u16,
    /// Its length in bytes.
    pub len: u16,
    /// Whose element it is, if not IANA's.
    pub enterprise: Option<u32>,
}

impl Field {
    /// One of IANA's.
    pub const fn new(id: u16, len: u16) -> Self {
        Self { id, len, enterprise: None }
    }
}

/// The set with the template of some fields.
pub fn template(id: u16, fields: &[Field]) -> Vec<u8> {
    let mut records = [id, fields.len() as u16].map(u16::to_be_bytes).concat();
    for field in fields {
        let bit = if field.enterprise.is_some() { IS_ENTERPRISE } else { 0 };
        records.extend([field.id | bit, field.len].map(u16::to_be_bytes).as_flattened());
        if let Some(enterprise) = field.enterprise {
            records.extend(enterprise.to_be_bytes());
        }
    }
    set(TEMPLATES, &records)
}

/// A set of records.
pub fn set(id: u16, records: &[u8]) -> Vec<u8> {
    let len = (SET + records.len()) as u16;
    [[id, len].map(u16::to_be_bytes).as_flattened(), records].concat()
}

/// A message with sets, sent at `time` in seconds since 1970, after `sequence` records.
pub fn message(time: u32, sequence: u32, domain: u32, sets: &[u8]) -> Vec<u8> {
    let len = (HEADER + sets.len()) as u16;
    let front = [10_u16.to_be_bytes(), len.to_be_bytes()];
    let rest = [time, sequence, domain].map(u32::to_be_bytes);
    [front.as_flattened(), rest.as_flattened(), sets].concat()
}
