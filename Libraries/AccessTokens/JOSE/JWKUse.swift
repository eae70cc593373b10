import DocumentModel

/// What a published key says that it is for (RFC 7517 §4.2, §4.3).
enum JWKUse {
    /// - Throws: `keyInvalid` for a key whose `use` is another than `sig`, or whose `key_ops` lack `verify`, have an operation twice,
    ///   mix it with others than `sign`, or are no array of texts.
    static func requireVerifying(_ jwk: Document) throws(AccessTokenError) {
        if let use = jwk["use"], use.stringValue != "sig" {
            throw AccessTokenError(.keyInvalid, "a key for another use than signatures")
        }
        guard let value = jwk["key_ops"] else { return }
        guard let elements = value.arrayValue else { throw AccessTokenError(.keyInvalid, "key_ops is no array") }
        var operations: Set<String> = []
        for element in elements {
            guard let operation = element.stringValue else {
                throw AccessTokenError(.keyInvalid, "key_ops has what is no text")
            }
            guard operations.insert(operation).inserted else {
                throw AccessTokenError(.keyInvalid, "key_ops has \(operation) twice")
            }
        }
        guard operations.contains("verify") else { throw AccessTokenError(.keyInvalid, "key_ops lacks verify") }
        // RFC 7517: unrelated operations with one key should not be.
        guard operations.isSubset(of: ["sign", "verify"]) else {
            throw AccessTokenError(.keyInvalid, "key_ops mixes signatures with other operations")
        }
    }
}
