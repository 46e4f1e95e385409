//! The traits that every message has, made by the tables of `messages/`.

use std::ops::RangeInclusive;

use crate::api::ApiKey;
use crate::decode_error::{DecodeError, DecodeReason};
use crate::encode_error::EncodeError;
use crate::reader::Reader;
use crate::wire::{Format, Wire};
use crate::writer::Writer;

/// A request, a response, or a message that is carried inside another one's bytes.
pub trait Message: Sized + Default + Clone + PartialEq + std::fmt::Debug {
    /// Kafka's name of the message.
    const NAME: &'static str;
    /// The versions that can be read and written.
    const VERSIONS: RangeInclusive<i16>;
    /// The first version with compact lengths and tagged fields; `i16::MAX` if there is none.
    const FLEXIBLE_FROM: i16;

    /// Takes the message from the reader. Bytes may remain behind it.
    ///
    /// # Errors
    /// `Invalid` if there is no such version, `Corrupt` if the bytes are not such a message.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Adds the message to the frame. Fields that the version lacks are left out, whatever their
    /// value; what has no form on the wire is an error of [`Writer::finish`].
    fn encode(&self, w: &mut Writer, version: i16);
}

/// A message that a client sends.
pub trait Request: Message {
    /// Which API it is of.
    const API: ApiKey;
    /// What it is answered with.
    type Response: Response<Request = Self>;
}

/// A message that a broker answers with.
pub trait Response: Message {
    /// Which API it is of.
    const API: ApiKey;
    /// What it answers.
    type Request: Request<Response = Self>;
}

fn format<M: Message>(version: i16) -> Format {
    Format { version, flexible: version >= M::FLEXIBLE_FROM, nullable: false }
}

/// [`Message::decode`] for every table.
pub(crate) fn read<M: Message + Wire>(r: &mut Reader, version: i16) -> Result<M, DecodeError> {
    if !M::VERSIONS.contains(&version) {
        return Err(r.error(DecodeReason::UnsupportedVersion).in_field(M::NAME));
    }
    M::read(r, format::<M>(version))
}

/// [`Message::encode`] for every table.
pub(crate) fn write<M: Message + Wire>(message: &M, w: &mut Writer, version: i16) {
    if !M::VERSIONS.contains(&version) {
        w.fail(EncodeError::UnsupportedVersion(version));
        return;
    }
    message.write(w, format::<M>(version));
}

/// A random message of a version: every field that the version has, with any value it may have.
#[cfg(test)]
pub(crate) fn sample<M: Message + crate::tests::sample::Sample>(
    s: &mut crate::tests::sample::Sampler,
    version: i16,
) -> M {
    M::sample(s, format::<M>(version))
}
