//! Switches of the schema.

/// Switches that change which values and names are good; the names are OpenDJ's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaOptions {
    /// Country strings are two letters.
    pub strict_format_country_string: bool,
    /// Certificates must parse.
    pub strict_format_certificates: bool,
    /// JPEG photos must begin as such.
    pub strict_format_jpeg_photos: bool,
    /// Telephone numbers must be those of E.123.
    pub strict_format_telephone_numbers: bool,
    /// Booleans are `TRUE` or `FALSE`.
    pub strict_format_booleans: bool,
    /// Directory strings may be empty.
    pub allow_zero_length_values_directory_string: bool,
    /// An attribute type with neither superior nor syntax gets the octet string syntax.
    pub allow_attribute_types_with_no_sup_or_syntax: bool,
    /// Names of attributes may have underscores and begin with a digit.
    pub allow_attribute_name_exceptions: bool,
    /// `{length}` is dropped from the attribute types that are shown.
    pub strip_syntax_min_upper_bound_attribute_type_description: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        SchemaOptions {
            strict_format_country_string: true,
            strict_format_certificates: true,
            strict_format_jpeg_photos: false,
            strict_format_telephone_numbers: false,
            strict_format_booleans: false,
            allow_zero_length_values_directory_string: false,
            allow_attribute_types_with_no_sup_or_syntax: true,
            allow_attribute_name_exceptions: false,
            strip_syntax_min_upper_bound_attribute_type_description: false,
        }
    }
}
