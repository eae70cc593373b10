import DocumentModel
import EventStream
import EventTopics
import Kafka

/// The streams to which a reading of the topic gives what it brings.
protocol WatchTargets {
    /// Whether the app has streams among them.
    func contains(app: String) -> Bool

    /// The collections of an app that are watched.
    func collections(of app: String) -> [ChangeEvent.Namespace]

    /// The streams of a collection.
    func watches(of namespace: ChangeEvent.Namespace, app: String) -> [Watch]

    /// Called for each message, before anything else is asked about it.
    mutating func reach(_ message: KafkaMessage)

    /// Notes the revision of a change of a watched app.
    mutating func note(_ revision: Revision, of partition: [UInt8], app: String) -> RevisionBook.Place

    /// Gives some of the streams the change of a message, the one that was reached last.
    mutating func add(_ change: WatchedChange, to watches: [Watch], _ revision: Revision, of message: KafkaMessage)

    /// Reports that users' custom data has changed.
    /// - Parameter users: `nil` if it isn't known whose.
    func userDataChanged(of users: [String]?, app: String)

    /// Ends the streams of an app, since the message can't be passed on.
    func lose(app: String)
}
