/// What a server that was started says when it is asked whether it is ready.
enum EngineAnswer: Sendable {
    case ready
    /// It works on what has to be done first, such as the recovery from a crash.
    case busy
    /// Nothing.
    case silence
}
