//! The macro that turns a table of fields into structs and both directions of their codec.
//!
//! ```text
//! messages! {
//!     /// What the message is for.
//!     message NameRequest, versions 0..=3, flexible 2 {
//!         some_number: i32 [0..],                                 // in all versions
//!         some_text: Option<KString> [1..] null [2..],            // from 1 on; may be null from 2 on
//!         an_old_flag: bool [0..=1] = true,                       // until 1; true where absent
//!         topics: Vec<NameTopic> [0..],
//!     } tagged {
//!         0 => cluster_id: Option<KString> [2..] null [2..],      // written only if not the default
//!     }
//!
//!     /// An element of it.
//!     struct NameTopic { ... }
//! }
//! ```
//!
//! - `message` is a whole request, response or embedded protocol; `struct` is a part of one, and is
//!   flexible when the message is. `flexible never` is for messages without flexible versions.
//! - Fields appear on the wire in the order of the table. A field that a version lacks is not
//!   written, whatever its value, and is its default after decoding.
//! - The default of a field without `=` is that of its type; for `Option` that is `None`.
//! - A `None` where null is not allowed is written as the empty value.

/// See the module's documentation.
macro_rules! messages {
    () => {};
    (
        $(#[$doc:meta])*
        message $name:ident, versions $versions:expr, flexible $flexible:tt { $($fields:tt)* }
        tagged { $($tagged:tt)* }
        $($rest:tt)*
    ) => {
        kafka_struct! { [$(#[$doc])*] $name { $($fields)* } { $($tagged)* } }
        impl $crate::message::Message for $name {
            const NAME: &'static str = stringify!($name);
            const VERSIONS: std::ops::RangeInclusive<i16> = $versions;
            const FLEXIBLE_FROM: i16 = flexible_from!($flexible);

            fn decode(
                r: &mut $crate::reader::Reader,
                version: i16,
            ) -> Result<Self, $crate::decode_error::DecodeError> {
                $crate::message::read(r, version)
            }

            fn encode(&self, w: &mut $crate::writer::Writer, version: i16) {
                $crate::message::write(self, w, version);
            }
        }
        messages! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        struct $name:ident { $($fields:tt)* } tagged { $($tagged:tt)* }
        $($rest:tt)*
    ) => {
        kafka_struct! { [$(#[$doc])*] $name { $($fields)* } { $($tagged)* } }
        messages! { $($rest)* }
    };
    // Without tagged fields: the same with none.
    (
        $(#[$doc:meta])*
        message $name:ident, versions $versions:expr, flexible $flexible:tt { $($fields:tt)* }
        $($rest:tt)*
    ) => {
        messages! {
            $(#[$doc])*
            message $name, versions $versions, flexible $flexible { $($fields)* } tagged {}
            $($rest)*
        }
    };
    ($(#[$doc:meta])* struct $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        messages! { $(#[$doc])* struct $name { $($fields)* } tagged {} $($rest)* }
    };
}

macro_rules! flexible_from {
    (never) => {
        i16::MAX
    };
    ($from:literal) => {
        $from
    };
}

/// The default of a field: the one given, else that of its type.
macro_rules! field_default {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}

/// Whether a field may be null in a version: never, unless the table says when.
macro_rules! null_in {
    ($version:expr) => {
        false
    };
    ($version:expr, $null:expr) => {
        ($null).contains(&$version)
    };
}

macro_rules! kafka_struct {
    (
        [$(#[$doc:meta])*] $name:ident
        { $(
            $(#[$fdoc:meta])*
            $field:ident: $ty:ty [$in:expr] $(null [$null:expr])? $(= $default:expr)?
        ),* $(,)? }
        { $(
            $(#[$tdoc:meta])*
            $tag:literal => $tfield:ident: $tty:ty [$tin:expr] $(null [$tnull:expr])?
                $(= $tdefault:expr)?
        ),* $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[$fdoc])*
                #[doc = concat!("(Versions `", stringify!($in), "`.)")]
                pub $field: $ty,
            )*
            $(
                $(#[$tdoc])*
                #[doc = concat!("(Versions `", stringify!($tin), "`, tag ", stringify!($tag), ".)")]
                pub $tfield: $tty,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: field_default!($($default)?),)*
                    $($tfield: field_default!($($tdefault)?),)*
                }
            }
        }

        impl $crate::wire::Wire for $name {
            fn bytes_min(format: $crate::wire::Format) -> usize {
                let mut bytes = usize::from(format.flexible);
                $(
                    if ($in).contains(&format.version) {
                        let format = format.field(null_in!(format.version $(, $null)?));
                        bytes += <$ty as $crate::wire::Wire>::bytes_min(format);
                    }
                )*
                bytes
            }

            fn read(
                r: &mut $crate::reader::Reader,
                format: $crate::wire::Format,
            ) -> Result<Self, $crate::decode_error::DecodeError> {
                $(
                    let $field: $ty = if ($in).contains(&format.version) {
                        let format = format.field(null_in!(format.version $(, $null)?));
                        $crate::wire::Wire::read(r, format)
                            .map_err(|e| e.in_field(concat!(stringify!($name), ".", stringify!($field))))?
                    } else {
                        field_default!($($default)?)
                    };
                )*
                $(let mut $tfield: $tty = field_default!($($tdefault)?);)*
                if format.flexible {
                    r.tagged_fields(|tag, _r| {
                        match tag {
                            $(
                                $tag if ($tin).contains(&format.version) => {
                                    let format = format.field(null_in!(format.version $(, $tnull)?));
                                    $tfield = $crate::wire::Wire::read(_r, format).map_err(|e| {
                                        e.in_field(concat!(stringify!($name), ".", stringify!($tfield)))
                                    })?;
                                    Ok(true)
                                }
                            )*
                            _ => Ok(false),
                        }
                    })
                    .map_err(|e| e.in_field(concat!(stringify!($name), " (tagged fields)")))?;
                }
                Ok(Self { $($field,)* $($tfield,)* })
            }

            fn write(&self, w: &mut $crate::writer::Writer, format: $crate::wire::Format) {
                $(
                    if ($in).contains(&format.version) {
                        let format = format.field(null_in!(format.version $(, $null)?));
                        $crate::wire::Wire::write(&self.$field, w, format);
                    }
                )*
                if format.flexible {
                    $(
                        let $tfield = ($tin).contains(&format.version) && {
                            let default: $tty = field_default!($($tdefault)?);
                            self.$tfield != default
                        };
                    )*
                    let count = 0 $(+ u32::from($tfield))*;
                    w.uvarint(count);
                    $(
                        if $tfield {
                            let format = format.field(null_in!(format.version $(, $tnull)?));
                            w.tagged_field($tag, |w| {
                                $crate::wire::Wire::write(&self.$tfield, w, format);
                            });
                        }
                    )*
                }
            }
        }

        impl $crate::wire::Nullable for $name {
            fn nullable_bytes_min(_: $crate::wire::Format) -> usize {
                1
            }

            fn read_nullable(
                r: &mut $crate::reader::Reader,
                format: $crate::wire::Format,
            ) -> Result<Option<Self>, $crate::decode_error::DecodeError> {
                if r.i8()? < 0 { Ok(None) } else { $crate::wire::Wire::read(r, format).map(Some) }
            }

            fn write_null(w: &mut $crate::writer::Writer, _: $crate::wire::Format) {
                w.i8(-1);
            }

            fn write_present(&self, w: &mut $crate::writer::Writer, format: $crate::wire::Format) {
                w.i8(1);
                $crate::wire::Wire::write(self, w, format);
            }
        }

        #[cfg(test)]
        impl $crate::tests::sample::Sample for $name {
            fn sample(s: &mut $crate::tests::sample::Sampler, format: $crate::wire::Format) -> Self {
                let mut value = Self::default();
                $(
                    if ($in).contains(&format.version) {
                        let format = format.field(null_in!(format.version $(, $null)?));
                        value.$field = $crate::tests::sample::Sample::sample(s, format);
                    }
                )*
                $(
                    if ($tin).contains(&format.version) && s.coin() {
                        let format = format.field(null_in!(format.version $(, $tnull)?));
                        value.$tfield = $crate::tests::sample::Sample::sample(s, format);
                    }
                )*
                value
            }
        }
    };
}
