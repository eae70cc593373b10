import DocumentModel

/// The declared use of a published key (RFC 7517 §4.2, §4.3).
enum JWKUse {
    /// - Throws: `keyInvalid` for a key whose `use` isn't `sig`, or whose `key_ops` lack `verify`, have an operation twice, contain
    ///   operations other than `sign` and `verify`, or aren't an array of strings.
    static func requireVerifying(_ jwk: Document) throws(AccessTokenError) {
        if let use = jwk["use"], use.stringValue != "sig" {
            throw AccessTokenError(.keyInvalid, "a key for another use than signatures")
        }
        guard let value = jwk["key_ops"] else { return }
        guard let elements = value.arrayValue else { throw AccessTokenError(.keyInvalid, "key_ops must be an array") }
        var operations: Set<String> = []
        for element in elements {
            guard let operation = element.stringValue else {
                throw AccessTokenError(.keyInvalid, "key_ops must contain only strings")
            }
            guard operations.insert(operation).inserted else {
                throw AccessTokenError(.keyInvalid, "key_ops has \(operation) twice")
            }
        }
        guard operations.contains("verify") else { throw AccessTokenError(.keyInvalid, "key_ops lacks verify") }
        // RFC 7517: a key should not be used for unrelated operations.
        guard operations.isSubset(of: ["sign", "verify"]) else {
            throw AccessTokenError(.keyInvalid, "key_ops mixes signatures with other operations")
        }
    }
}
