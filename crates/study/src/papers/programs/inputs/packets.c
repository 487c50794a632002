// A network of queues, by discrete events: packets go from node to node, wait there, and are made
// anew where they arrive. Arguments: the nodes, the thousands of events.
#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 4, HOPS = 16 };

struct packet {
    struct packet *after;
    double made;
    int target, hops;
    int route[HOPS];
};
struct node {
    struct packet *first, *last;
    int links[LINKS], waiting;
    long served;
    double busy;
};
struct event {
    double time;
    int node;
};

static unsigned long state = 88172645463325252ul;

static unsigned long drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static double wait(void) {
    return (drawn() >> 11) / 9007199254740992.0;
}

static void join(struct node *node, struct packet *packet) {
    packet->after = NULL;
    if (node->last)
        node->last->after = packet;
    else
        node->first = packet;
    node->last = packet;
    node->waiting++;
}

/* Puts the event at the top of the agenda in its place. */
static void sink(struct event *agenda, long all) {
    struct event event = agenda[0];
    long at = 0;
    for (long child; (child = 2 * at + 1) < all; at = child) {
        if (child + 1 < all && agenda[child + 1].time < agenda[child].time)
            child++;
        if (event.time <= agenda[child].time)
            break;
        agenda[at] = agenda[child];
    }
    agenda[at] = event;
}

int main(int count, char **arguments) {
    long all = atol(arguments[1]), events = atol(arguments[2]) * 1000, arrived = 0;
    struct node *nodes = calloc(all, sizeof *nodes);
    struct event *agenda = malloc(all * sizeof *agenda);
    for (long number = 0; number < all; number++) {
        for (int link = 0; link < LINKS; link++)
            nodes[number].links[link] = drawn() % all;
        for (int made = 0; made < 2; made++) {
            struct packet *packet = calloc(1, sizeof *packet);
            packet->target = drawn() % all;
            join(nodes + number, packet);
        }
        agenda[number] = (struct event){number / (double)all, number};
    }
    for (long done = 0; done < events; done++) {
        struct node *node = nodes + agenda[0].node;
        double now = agenda[0].time;
        struct packet *packet = node->first;
        if (packet) {
            node->first = packet->after;
            if (!node->first)
                node->last = NULL;
            node->waiting--;
            node->served++;
            node->busy += now - packet->made;
            packet->route[packet->hops++] = agenda[0].node;
            int next = node->links[(packet->target ^ packet->hops) & (LINKS - 1)];
            if (packet->hops == HOPS || next == packet->target) {
                free(packet);
                arrived++;
                packet = calloc(1, sizeof *packet);
                packet->target = drawn() % all;
                packet->made = now;
            }
            join(nodes + next, packet);
        }
        agenda[0].time = now + wait();
        sink(agenda, all);
    }
    printf("%ld arrived\n", arrived);
}
