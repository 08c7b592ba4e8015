/* Spin: blocks of one rank meet at a counter that only grows: BLOCKS arrivals for
   each meeting, which ends when the counter has come to meeting * BLOCKS. The
   last to arrive may hand the rank's word on to peers. Nobody resets it, so a
   block that is late cannot miss it. The counter is of BITS bits and wraps:
   differences decide, not sizes.

   Shown: what each block wrote before a meeting is seen behind it, over a wrap.
   Faults that must be found: RESET (the last sets it to 0 and the others wait for
   0 < n < BLOCKS), BY_SIZE (compares sizes over the wrap), TWO_KERNELS (another
   kernel on the same counter adds its own arrivals). */
#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef MEETINGS
#define MEETINGS 3
#endif
#define MODULUS 16
#ifdef TWO_KERNELS
#define FIRST 1
#else
#define FIRST 0
#endif
/* Begins below the wrap, at a multiple of the blocks' arrivals. */
#define BEGIN (MODULUS - BLOCKS)

byte counter;
byte written[BLOCKS];

#define TARGET ((BEGIN + meeting * BLOCKS) % MODULUS)
#ifdef BY_SIZE
#define REACHED (counter >= TARGET)
#else
#define REACHED (((counter - TARGET + MODULUS) % MODULUS) < MODULUS / 2)
#endif

proctype Block(byte block) {
  byte meeting = 1;
  byte other;
  do
  :: meeting > MEETINGS -> break
  :: else ->
     written[block] = meeting;
#ifdef RESET
     atomic {
       counter++;
       if
       :: counter == BLOCKS -> counter = 0
       :: else
       fi
     }
     counter == 0;
#else
     counter = (counter + 1) % MODULUS;
     REACHED;
#endif
     other = 0;
     do
     :: other == BLOCKS -> break
     :: else -> assert(written[other] >= meeting); other++
     od;
     meeting++
  od
}

init {
  byte block = 0;
  atomic {
#ifndef RESET
    counter = (BEGIN + FIRST) % MODULUS;
#endif
    do
    :: block == BLOCKS -> break
    :: else -> run Block(block); block++
    od
  }
}
