export const DIAGRAMS_URI = 'emceepee://diagrams';

export const diagramsResource = {
  uri: DIAGRAMS_URI,
  name: 'diagrams',
  title: 'State diagrams',
  description: 'Mermaid diagrams of the states of tasks, elicitations, sampling requests and tool calls',
  mimeType: 'application/json',
};

interface Diagram {
  name: string;
  description: string;
  mermaid: string;
}

/** The design, not the current state, which `await_activity` and the `get_*` tools show. */
const DIAGRAMS: Diagram[] = [
  {
    name: 'proxy_task_states',
    description: 'Tasks: tool calls that continue after their request was answered',
    mermaid: `stateDiagram-v2
    [*] --> working : timeout, certain question, or client gone

    working --> completed : Final server returns result
    working --> failed : Final server returns error
    working --> failed : Final server disconnects
    working --> cancelled : Client calls cancel_task
    working --> expired : TTL exceeded

    completed --> [*] : Cleaned up after retention period
    failed --> [*] : Cleaned up after retention period
    cancelled --> [*] : Cleaned up after retention period
    expired --> [*] : Cleaned up after retention period`,
  },
  {
    name: 'pending_elicitation_states',
    description: 'Elicitations: questions from servers to the user',
    mermaid: `stateDiagram-v2
    [*] --> pending : Final server sends elicitation/create

    pending --> accepted : Client calls respond_to_elicitation(action: accept)
    pending --> declined : Client calls respond_to_elicitation(action: decline)
    pending --> cancelled : Client calls respond_to_elicitation(action: cancel)
    pending --> expired : Timeout reached (default 10 min)
    pending --> rejected : Final server withdraws or disconnects

    accepted --> [*] : Response sent to final server
    declined --> [*] : Response sent to final server
    cancelled --> [*] : Response sent to final server
    expired --> [*] : Error sent to final server
    rejected --> [*] : Error (server gone)

    note right of pending
        Elicitation blocks the final server's operation
        until client responds. The client sees it via
        await_activity or get_elicitations.
    end note`,
  },
  {
    name: 'pending_sampling_states',
    description: 'Sampling requests: servers ask for a model response',
    mermaid: `stateDiagram-v2
    [*] --> pending : Final server sends sampling/createMessage

    pending --> completed : Client calls respond_to_sampling
    pending --> expired : Timeout reached
    pending --> rejected : Final server withdraws or disconnects

    completed --> [*] : Response sent to final server
    expired --> [*] : Error sent to final server
    rejected --> [*] : Error (server gone)`,
  },
  {
    name: 'tool_call_lifecycle',
    description: 'How a tool call becomes a task',
    mermaid: `stateDiagram-v2
    [*] --> in_flight : execute_tool called

    in_flight --> returned_result : Completes within timeout
    in_flight --> promoted_to_task : Timeout, certain question, or client gone

    returned_result --> [*] : Result returned to client (no task created)

    promoted_to_task --> task_working : Task created

    state task_working {
        [*] --> waiting
        waiting --> completed : Result received
        waiting --> failed : Error received
    }`,
  },
  {
    name: 'entity_relationships',
    description: 'Data that the gateway stores, and the tools and servers that use it',
    mermaid: `flowchart TB
    subgraph "Original Client"
        OC[Client Tools]
    end

    subgraph "MCP Proxy"
        Tasks[(Proxy Tasks)]
        Elicit[(Pending Elicitations)]
        Sampling[(Pending Sampling)]
        Notif[(Buffered Notifications)]
        Logs[(Buffered Logs)]
    end

    subgraph "Final Servers"
        FS1[Server 1]
        FS2[Server 2]
    end

    OC -->|execute_tool| Tasks
    OC -->|respond_to_elicitation| Elicit
    OC -->|respond_to_sampling| Sampling
    OC -->|await_activity| Tasks & Elicit & Sampling & Notif & Logs

    FS1 -->|elicitation/create| Elicit
    FS1 -->|sampling/createMessage| Sampling
    FS1 -->|notifications/*| Notif
    FS1 -->|logging/message| Logs
    FS2 -->|elicitation/create| Elicit
    FS2 -->|sampling/createMessage| Sampling`,
  },
];

export function readDiagrams(): Record<string, unknown> {
  const text = JSON.stringify({ diagrams: DIAGRAMS });
  return { contents: [{ uri: DIAGRAMS_URI, mimeType: 'application/json', text }] };
}
