//! `Wire`: how a value of each field type is read and written.
//!
//! The tables of `messages/` are made of these types. A type with a null on the wire implements
//! [`Nullable`] and is used as `Option<T>` where the table says in which versions null is allowed.

use bytes::Bytes;
use uuid::Uuid;

use crate::decode_error::{DecodeError, DecodeReason};
use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::reader::Reader;
use crate::record_parts::RecordParts;
use crate::writer::Writer;

/// The circumstances in which a field is read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// The version of the message.
    pub(crate) version: i16,
    /// Whether the version has compact lengths and tagged fields.
    pub(crate) flexible: bool,
    /// Whether the field may be null in this version.
    pub(crate) nullable: bool,
}

impl Format {
    /// The circumstances of a field of the struct that has these.
    pub(crate) fn field(self, nullable: bool) -> Self {
        Self { nullable, ..self }
    }
}

/// A value with a form on the wire.
pub(crate) trait Wire: Sized {
    /// The fewest bytes that a value takes.
    fn bytes_min(format: Format) -> usize;

    /// Takes a value from the reader.
    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError>;

    /// Adds the value to the frame.
    fn write(&self, w: &mut Writer, format: Format);
}

/// A value that can be null on the wire.
pub(crate) trait Nullable: Wire + Default {
    /// The fewest bytes that a value or null takes.
    fn nullable_bytes_min(format: Format) -> usize {
        Self::bytes_min(format)
    }

    /// Takes a value or null from the reader.
    fn read_nullable(r: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError>;

    /// Adds null to the frame.
    fn write_null(w: &mut Writer, format: Format);

    /// Adds a value to the frame where null was possible.
    fn write_present(&self, w: &mut Writer, format: Format) {
        self.write(w, format);
    }
}

fn present<T: Nullable>(r: &mut Reader, format: Format) -> Result<T, DecodeError> {
    match T::read_nullable(r, format)? {
        Some(value) => Ok(value),
        None => Err(r.error(DecodeReason::UnexpectedNull)),
    }
}

/// Null where null is allowed, else what Kafka takes for null: the empty value.
impl<T: Nullable> Wire for Option<T> {
    fn bytes_min(format: Format) -> usize {
        if format.nullable { T::nullable_bytes_min(format) } else { T::bytes_min(format) }
    }

    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        if format.nullable { T::read_nullable(r, format) } else { T::read(r, format).map(Some) }
    }

    fn write(&self, w: &mut Writer, format: Format) {
        match self {
            Some(value) if format.nullable => value.write_present(w, format),
            Some(value) => value.write(w, format),
            None if format.nullable => T::write_null(w, format),
            None => T::default().write(w, format),
        }
    }
}

macro_rules! integer {
    ($($int:ident)*) => {$(
        impl Wire for $int {
            fn bytes_min(_: Format) -> usize {
                size_of::<Self>()
            }

            fn read(r: &mut Reader, _: Format) -> Result<Self, DecodeError> {
                r.$int()
            }

            fn write(&self, w: &mut Writer, _: Format) {
                w.$int(*self);
            }
        }
    )*};
}
integer! { i8 i16 i32 i64 }

/// Any byte but 0 is true.
impl Wire for bool {
    fn bytes_min(_: Format) -> usize {
        1
    }

    fn read(r: &mut Reader, _: Format) -> Result<Self, DecodeError> {
        r.i8().map(|byte| byte != 0)
    }

    fn write(&self, w: &mut Writer, _: Format) {
        w.i8(i8::from(*self));
    }
}

impl Wire for ErrorCode {
    fn bytes_min(_: Format) -> usize {
        size_of::<i16>()
    }

    fn read(r: &mut Reader, _: Format) -> Result<Self, DecodeError> {
        r.i16().map(Self)
    }

    fn write(&self, w: &mut Writer, _: Format) {
        w.i16(self.0);
    }
}

impl Wire for Uuid {
    fn bytes_min(_: Format) -> usize {
        size_of::<Self>()
    }

    fn read(r: &mut Reader, _: Format) -> Result<Self, DecodeError> {
        r.uuid()
    }

    fn write(&self, w: &mut Writer, _: Format) {
        w.slice(self.as_bytes());
    }
}

impl Wire for KString {
    fn bytes_min(format: Format) -> usize {
        if format.flexible { 1 } else { 2 }
    }

    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        present(r, format)
    }

    fn write(&self, w: &mut Writer, format: Format) {
        w.string_length(Some(self.len()), format.flexible);
        w.slice(self.as_bytes());
    }
}

impl Nullable for KString {
    fn read_nullable(r: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        r.string_length(format.flexible)?.map(|length| r.text(length)).transpose()
    }

    fn write_null(w: &mut Writer, format: Format) {
        w.string_length(None, format.flexible);
    }
}

/// The fewest bytes of a value behind an `i32` or compact length.
fn length_bytes_min(format: Format) -> usize {
    if format.flexible { 1 } else { 4 }
}

impl Wire for Bytes {
    fn bytes_min(format: Format) -> usize {
        length_bytes_min(format)
    }

    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        present(r, format)
    }

    fn write(&self, w: &mut Writer, format: Format) {
        w.length(Some(self.len()), format.flexible);
        w.shared(self);
    }
}

impl Nullable for Bytes {
    fn read_nullable(r: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        r.length(format.flexible)?.map(|length| r.bytes(length)).transpose()
    }

    fn write_null(w: &mut Writer, format: Format) {
        w.length(None, format.flexible);
    }
}

impl Wire for RecordParts {
    fn bytes_min(format: Format) -> usize {
        length_bytes_min(format)
    }

    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        present(r, format)
    }

    fn write(&self, w: &mut Writer, format: Format) {
        w.length(Some(self.len()), format.flexible);
        w.records(self);
    }
}

impl Nullable for RecordParts {
    fn read_nullable(r: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        Ok(Bytes::read_nullable(r, format)?.map(Self::from))
    }

    fn write_null(w: &mut Writer, format: Format) {
        w.length(None, format.flexible);
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn bytes_min(format: Format) -> usize {
        length_bytes_min(format)
    }

    fn read(r: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        present(r, format)
    }

    fn write(&self, w: &mut Writer, format: Format) {
        w.length(Some(self.len()), format.flexible);
        for element in self {
            element.write(w, format.field(false));
        }
    }
}

impl<T: Wire> Nullable for Vec<T> {
    fn read_nullable(r: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        let Some(count) = r.length(format.flexible)? else { return Ok(None) };
        let element = format.field(false);
        r.claim(count, T::bytes_min(element), size_of::<T>())?;
        let mut elements = Self::with_capacity(count);
        for _ in 0..count {
            elements.push(T::read(r, element)?);
        }
        Ok(Some(elements))
    }

    fn write_null(w: &mut Writer, format: Format) {
        w.length(None, format.flexible);
    }
}
