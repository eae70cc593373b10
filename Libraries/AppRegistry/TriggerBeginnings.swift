import AppDefinition
import DocumentModel

/// Since when the triggers of a version of an app have been deployed without a break.
public struct TriggerBeginnings: Sendable {
    /// By trigger, in milliseconds since 1970 by Postgres' clock; without those that were deployed before this was recorded.
    private(set) var times: [ExactText: Int64] = [:]

    /// Those of triggers that were always there.
    public init() {}

    /// Those of a new version. A trigger goes on that the version before it had, enabled and for the same events, or at the same times; another
    /// one begins.
    /// - Parameters:
    ///   - time: When the new version is deployed.
    ///   - present: The version before it; `nil` if the app isn't deployed.
    init(of definition: AppDefinition, at time: Int64, after present: DeployedApp?) {
        for trigger in definition.triggers where !trigger.isDisabled {
            if let present, trigger.continues(present.definition.trigger(trigger.name)) {
                times[trigger.name] = present.triggerBeginnings.times[ExactText(trigger.name)]
            } else {
                times[trigger.name] = time
            }
        }
    }

    /// Reads what ``document`` wrote.
    init(stored: Document) {
        for field in stored.fields { times[field.key] = field.value.int64Value }
    }

    var document: Document {
        Document(times.sorted { $0.key < $1.key }.map { ($0.key.text, .int64($0.value)) })
    }
}
