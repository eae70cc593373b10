/// An incoming webhook of a service (`incoming_webhooks/<name>/config.json` and `source.js`): an HTTPS endpoint at the address that
/// webhooks had, with a function of its own.
public struct Webhook: Sendable {
    public var service: String
    public var name: String
    /// How it is called and answered, and its function, which the app's definition has among its private ones.
    public var endpoint: HTTPEndpoint
    /// The function that answers a request with the id of the user as whom it runs, or with `{runAsSystem: true}`
    /// (`run_as_user_id_script_source`); `nil` when the settings of the webhook's function say it.
    public var userFunction: String?
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
    /// The webhooks of this service and name that are served.
    public func webhook(_ name: String, of service: String) -> Webhook? {
        webhooks.first {
            !$0.endpoint.isDisabled && $0.service.hasSameBytes(as: service) && $0.name.hasSameBytes(as: name)
        }
    }
}
