/// The schemas of the database that can be Partita's. A restore drops what a manifest names, which somebody may have edited, or which may
/// be another program's.
enum OwnedSchemas {
    /// Whether it is `partita` or an app's, as the function `partita.identifier` makes it of `app/database`: a name of more than 63
    /// bytes is cut to 46, and ends with a part of its digest.
    static func has(_ schema: String) -> Bool {
        guard schema != "partita" else { return true }
        guard schema.utf8.count <= 63 else { return false }
        // An app's id has at most 48 of these characters (DefinitionReader).
        return schema.wholeMatch(of: /(?s)[A-Za-z0-9_\-]{1,48}\/.+/) != nil
            || schema.wholeMatch(of: /[A-Za-z0-9_\-]{46}~[0-9a-f]{16}/) != nil
    }
}
