/// An incoming webhook of a service (`incoming_webhooks/<name>/config.json` and `source.js`): an HTTPS endpoint at the address that
/// webhooks had, with a function of its own.
public struct Webhook: Sendable {
    public var service: String
    public var name: String
    /// How it is called and answered, and its function, which the app's definition has among its private ones.
    public var endpoint: HTTPEndpoint
    /// What its function gets.
    public var payload: Payload

    public enum Payload: Sendable {
        /// `{query, headers, body}`, as an HTTPS endpoint's.
        case request
        /// The fields of a form, as Twilio sends it.
        case form
    }
}

extension AppDefinition {
    /// The webhook of this service and name; `nil` when none is served.
    public func webhook(_ name: String, of service: String) -> Webhook? {
        webhooks.first {
            !$0.endpoint.isDisabled && $0.service.hasSameBytes(as: service) && $0.name.hasSameBytes(as: name)
        }
    }
}
